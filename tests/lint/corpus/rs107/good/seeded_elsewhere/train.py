from data import Order


def main(seed):
    order = Order(100)
    order.shuffler.manual_seed(seed)
    return list(order)
