internal import TransferClient

/// How far a pull is, as that of a push is shown.
struct PullProgress {
    private var shown: any PushProgress

    /// - Returns: nothing where nothing is shown.
    init?(_ style: ProgressStyle) {
        guard let progress = style.makeProgress() else { return nil }
        shown = progress
    }

    mutating func update(_ event: PullEvent) {
        if let event = event.asPush { shown.update(event) }
    }

    mutating func refresh() { shown.refresh() }

    mutating func clear() { shown.clear() }

    mutating func finish() { shown.finish() }
}
