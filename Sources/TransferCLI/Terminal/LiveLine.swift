private import CLinux
private import Glibc
import TransferClient
private import TransferProtocol
private import TransferSystem

/// The one line at the bottom of a terminal that shows how far a push is. Drawn at most ten times a second.
struct LiveLine {
    private var snapshot = ProgressSnapshot(phase: .connecting)
    private var meter: RateMeter
    private var lastDrawn: Int64 = 0
    private var isShown = false
    private var finishedBytes: UInt64 = 0

    /// Nanoseconds between two drawings.
    private static let interval: Int64 = 100_000_000

    /// Columns when the terminal doesn't tell.
    private static let fallbackColumns = 80

    init() {
        meter = RateMeter(at: MonotonicTime(nanoseconds: monotonicNanoseconds()))
    }

    mutating func update(_ event: PushEvent) {
        switch event {
        case .connected: snapshot.phase = .sending
        case .reconnecting: snapshot.phase = .reconnecting
        case .counted(let files, let bytes):
            snapshot.filesTotal = files
            snapshot.totalSize = bytes
        case .progress(let progress):
            snapshot.currentFile = progress.source
            snapshot.currentBytes = progress.bytes
            snapshot.currentSize = progress.size
            snapshot.phase =
                switch progress.phase {
                case .resuming: .checking
                case .sending: progress.bytes == progress.size ? .storing : .sending
                }
        case .finished(let report):
            snapshot.filesDone += 1
            if report.result.isSuccess {
                finishedBytes = finishedBytes.addingClamped(report.size)
            } else if report.result != .sourceSkipped {
                snapshot.failed += 1
            }
            snapshot.currentFile = report.source
            snapshot.currentBytes = report.size
            snapshot.currentSize = report.size
        }
        draw(isUrgent: !isShown)
    }

    /// Draws what has changed since the last drawing, the rate at least.
    mutating func refresh() {
        draw(isUrgent: false)
    }

    /// Takes the line away, for something else to be printed.
    mutating func clear() {
        guard isShown else { return }
        isShown = false
        StandardStream.error.write("\r\u{1B}[K")
    }

    private mutating func draw(isUrgent: Bool) {
        let now = monotonicNanoseconds()
        guard isUrgent || now - lastDrawn >= Self.interval else { return }
        lastDrawn = now
        let isCurrentFinished = snapshot.currentBytes == snapshot.currentSize && snapshot.phase != .storing
        snapshot.totalBytes = finishedBytes.addingClamped(isCurrentFinished ? 0 : snapshot.currentBytes)
        meter.record(bytes: snapshot.totalBytes, at: MonotonicTime(nanoseconds: now))
        snapshot.bytesPerSecond = meter.bytesPerSecond
        snapshot.secondsLeft = snapshot.totalSize.flatMap {
            meter.secondsLeft(forBytes: $0 - min($0, snapshot.totalBytes))
        }
        isShown = true
        StandardStream.error.write("\r" + ProgressLine.text(for: snapshot, columns: columns) + "\u{1B}[K")
    }

    private var columns: Int {
        var size = winsize()
        guard clinux_terminal_size(STDERR_FILENO, &size) == 0, size.ws_col > 0 else { return Self.fallbackColumns }
        return Int(size.ws_col)
    }
}
