import Glibc
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
    private let clock = Locked(SecondCache())
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
        let time = clock.withLock { $0.now() }
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

/// The present time as text, made once a second.
private struct SecondCache {
    private var second: time_t = 0
    private var text = ""

    /// UTC in the form of RFC 3339, to the millisecond.
    mutating func now() -> String {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        if time.tv_sec != second || text.isEmpty {
            second = time.tv_sec
            text = Self.format(second)
        }
        let milliseconds = String(1000 + time.tv_nsec / 1_000_000).dropFirst()
        return "\(text).\(milliseconds)Z"
    }

    private static func format(_ second: time_t) -> String {
        var second = second
        var parts = tm()
        gmtime_r(&second, &parts)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { buffer in
            let count = strftime(buffer.baseAddress, buffer.count, "%Y-%m-%dT%H:%M:%S", &parts)
            return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}
