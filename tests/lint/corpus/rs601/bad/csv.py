def log_row(file, epoch, train_loss, val_acc):
    file.write(f"{epoch},{train_loss:.4f},{val_acc:.2f}\n")  # expect: RS601
