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
    /// - Returns: nothing where nothing is shown.
    func makeProgress() -> (any PushProgress)? {
        switch self {
        case .bar: LiveView()
        case .plain: PlainProgress()
        case .json: JSONProgress()
        case .auto, .none: nil
        }
    }
}
