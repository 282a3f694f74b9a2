internal import TransferClient
private import TransferModel

/// Draws the progress of a push at the bottom of a terminal, at most ten times a second, in the terminal's current
/// width.
struct LiveView: PushProgress {
    private var tracker: ProgressTracker
    private var lastDrawn = MonotonicTime(nanoseconds: 0)
    private var canvas = TerminalCanvas()

    /// The shortest time between two drawings.
    private static let interval = Interval.milliseconds(100)

    /// The size to assume if the terminal does not report it.
    private static let fallbackSize = (columns: 80, rows: 24)

    init(_ traffic: Traffic) { tracker = ProgressTracker(traffic, at: .now) }

    mutating func update(_ event: PushEvent) {
        tracker.update(event, at: .now)
        draw(isUrgent: canvas.isEmpty)
    }

    /// Draws again, because at least the rate has changed.
    mutating func refresh() {
        draw(isUrgent: false)
    }

    mutating func clear() {
        guard !canvas.isEmpty else { return }
        StandardStream.error.write(canvas.clear(columns: Self.size.columns))
    }

    mutating func finish() {
        clear()
    }

    private mutating func draw(isUrgent: Bool) {
        let now = MonotonicTime.now
        guard isUrgent || now >= lastDrawn + Self.interval else { return }
        lastDrawn = now
        let size = Self.size
        let lines = ProgressScreen.lines(for: tracker.snapshot(at: now), columns: size.columns, rows: size.rows - 1)
        StandardStream.error.write(canvas.draw(lines, columns: size.columns))
    }

    private static var size: (columns: Int, rows: Int) {
        guard let size = Terminal.size(of: .error) else { return fallbackSize }
        return (size.columns, size.rows > 0 ? size.rows : fallbackSize.rows)
    }
}
