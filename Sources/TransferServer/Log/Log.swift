import Synchronization
package import TransferModel
import TransferSystem

/// Writes events as lines to a descriptor, those given together as few writes. Safe to call from any thread.
package final class Log: Sendable {
    /// How a line looks.
    package enum Format: Sendable {
        case text, json
    }

    private let sink: LogSink
    private let isJSON: Atomic<Bool>
    /// The least that is written, as its raw value.
    private let level: Atomic<Int>
    private let throttle = Locked(LogThrottle(now: .now))

    /// - Parameters:
    ///   - descriptor: stays the caller's; 2 for standard error.
    ///   - patience: how long to wait for somebody who doesn't read the lines.
    package init(
        descriptor: Int32 = 2, format: Format = .text, level: LogEvent.Level = .info, patience: Interval = .seconds(1)
    ) {
        sink = LogSink(descriptor, patience: patience)
        isJSON = Atomic(format == .json)
        self.level = Atomic(level.rawValue)
    }

    /// Writes other lines from now on.
    package func change(format: Format, level: LogEvent.Level) {
        isJSON.store(format == .json, ordering: .relaxed)
        self.level.store(level.rawValue, ordering: .relaxed)
    }

    func write(_ events: [LogEvent]) {
        let least = level.load(ordering: .relaxed)
        let wanted = throttled(events.filter { $0.level.rawValue >= least })
        guard !wanted.isEmpty else { return }
        let time = Timestamp.now.text(.milliseconds)
        sink.write(wanted.map { line($0, time) }.joined(), count: wanted.count) { line(.unread($0), time) }
    }

    /// Says what was left out for want of room. To be called at the end.
    func finish() {
        if let count = throttle.withLock({ $0.takeLeftOut(now: nil) }) { write([.leftOut(count)]) }
    }

    private func throttled(_ events: [LogEvent]) -> [LogEvent] {
        guard !events.isEmpty else { return [] }
        return throttle.withLock { throttle in
            let now = MonotonicTime.now
            var wanted = events.filter { !$0.isClientsFault || throttle.admits(now: now) }
            if let count = throttle.takeLeftOut(now: now) { wanted.append(.leftOut(count)) }
            return wanted
        }
    }

    private func line(_ event: LogEvent, _ time: String) -> String {
        guard isJSON.load(ordering: .relaxed) else { return "\(time) \(event.level.name) \(event.text())\n" }
        var line = JSONLine()
        line.append("time", .string(time))
        line.append("level", .string(event.level.name))
        line.append("event", .string(event.name))
        for (key, value) in event.fields() { line.append(key, value.json) }
        return line.text + "\n"
    }
}
