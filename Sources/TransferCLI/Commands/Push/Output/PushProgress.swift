internal import TransferClient

/// Shows the progress of a push on standard error.
protocol PushProgress {
    /// Records an event, and may draw the progress.
    mutating func update(_ event: PushEvent)

    /// Called from time to time, also without events, to draw again.
    mutating func refresh()

    /// Erases what is drawn, so that something else can be printed.
    mutating func clear()

    /// Ends the display when the push is over.
    mutating func finish()
}

extension ProgressStyle {
    /// - Parameter traffic: counts the transferred bytes, for the rate.
    /// - Returns: nil if no progress is shown.
    func makeProgress(_ traffic: Traffic) -> (any PushProgress)? {
        switch self {
        case .bar: LiveView(traffic)
        case .plain: PlainProgress(traffic)
        case .json: JSONProgress(traffic)
        case .auto, .none: nil
        }
    }
}
