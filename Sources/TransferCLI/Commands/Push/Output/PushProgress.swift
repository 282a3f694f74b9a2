internal import TransferClient

/// Shows on standard error how far a push is.
protocol PushProgress {
    /// Something happened.
    mutating func update(_ event: PushEvent)

    /// Some time has passed.
    mutating func refresh()

    /// Makes room for something else to be printed.
    mutating func clear()

    /// The push is over.
    mutating func finish()
}

extension ProgressStyle {
    /// - Parameter traffic: of what is shown.
    /// - Returns: nothing where nothing is shown.
    func makeProgress(_ traffic: Traffic) -> (any PushProgress)? {
        switch self {
        case .bar: LiveView(traffic)
        case .plain: PlainProgress(traffic)
        case .json: JSONProgress(traffic)
        case .auto, .none: nil
        }
    }
}
