internal import TransferClient
internal import TransferModel

/// Writes JSON objects to standard error, for programs that draw progress themselves: one for each event, and the
/// progress at most ten times a second. Results go to standard output.
struct JSONProgress: PushProgress {
    private var tracker: ProgressTracker
    private var pace = ProgressPace(interval: .milliseconds(100))

    init(_ traffic: Traffic) { tracker = ProgressTracker(traffic, at: .now) }

    mutating func update(_ event: PushEvent) {
        tracker.update(event, at: .now)
        switch event {
        case .connected(let server): write("connected", [("server", .string(server))])
        case .reconnecting(let reason, let seconds):
            write("reconnecting", [("message", .string(reason)), ("after", .double(seconds))])
        case .counted, .progress, .finished, .known: refresh()
        case .notice: break
        }
    }

    mutating func refresh() {
        if pace.isDue(at: .now) { writeProgress("progress") }
    }

    mutating func clear() {}

    mutating func finish() {
        tracker.end()
        writeProgress("end")
    }

    /// A message as an object.
    static func message(_ text: String) -> String {
        let line: JSONLine = [
            "schema": .string(JSONSchema.progress), "event": "message",
            "message": .string(text.last == "\n" ? String(text.dropLast()) : text),
        ]
        return line.text + "\n"
    }

    private mutating func writeProgress(_ event: String) {
        let snapshot = tracker.snapshot(at: .now)
        write(event, snapshot.members)
    }

    private func write(_ event: String, _ members: [(String, JSONValue)]) {
        var line: JSONLine = ["schema": .string(JSONSchema.progress), "event": .string(event)]
        for (key, value) in members { line.append(key, value) }
        StandardStream.error.write(line.text + "\n")
    }
}

extension ProgressSnapshot {
    fileprivate var members: [(String, JSONValue)] {
        [
            ("phase", .string(phase.name)), ("filesDone", .integer(filesDone)), ("failed", .integer(failed)),
            ("filesTotal", filesTotal.map { .integer($0) } ?? .null), ("bytesDone", .integer(totalBytes)),
            ("bytesTotal", totalSize.map { .integer($0) } ?? .null), ("bytesPerSecond", .double(bytesPerSecond)),
            ("secondsLeft", secondsLeft.map { .double($0) } ?? .null),
            ("files", .array(files.map { .object($0.json) })),
        ]
    }
}

extension FileProgress {
    fileprivate var json: JSONLine {
        [
            "source": .string(source), "phase": .string(phase.rawValue), "bytes": .integer(bytes),
            "size": size.map { .integer($0) } ?? .null,
        ]
    }
}

extension ProgressSnapshot.Phase {
    fileprivate var name: String {
        switch self {
        case .scanning: "scanning"
        case .connecting: "connecting"
        case .resuming: "resuming"
        case .sending: "sending"
        case .committing: "committing"
        case .reconnecting: "reconnecting"
        case .finished: "finished"
        }
    }
}
