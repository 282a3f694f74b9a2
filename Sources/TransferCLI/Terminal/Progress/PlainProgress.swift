internal import TransferClient
internal import TransferModel

/// Prints progress lines, for logs: at once when the phase changes, and otherwise every ten seconds.
struct PlainProgress: PushProgress {
    private var tracker: ProgressTracker
    private var pace = ProgressPace(interval: .seconds(10))
    private var last = ""

    /// The width of a line in columns: enough for all parts, and still one line in most logs.
    private static let columns = 100

    init(_ traffic: Traffic) { tracker = ProgressTracker(traffic, at: .now) }

    mutating func update(_ event: PushEvent) {
        let isNew = tracker.update(event, at: .now)
        if case .connected(let server) = event { write("connected to \(server.escapedForDisplay)") }
        if case .reconnecting = event { return }
        if pace.isDue(at: .now) || isNew && event.isPhase { writeProgress() }
    }

    mutating func refresh() {
        if pace.isDue(at: .now) { writeProgress() }
    }

    mutating func clear() {}

    mutating func finish() {}

    private mutating func writeProgress() {
        let line = ProgressLine.text(for: tracker.snapshot(at: .now), columns: Self.columns)
        guard !line.isEmpty, line != last else { return }
        last = line
        write(line)
    }

    private func write(_ line: String) {
        StandardStream.error.write(line + "\n")
    }
}

extension PushEvent {
    /// Whether the event reports that a file is resumed or completely sent.
    fileprivate var isPhase: Bool {
        guard case .progress = self else { return false }
        return true
    }
}
