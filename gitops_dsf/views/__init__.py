"""What people read about a hub or a change: `status`, `doctor` and `preview`. Pure: typed objects in, values out; they ask the rules of `hub`."""
