import Synchronization
package import TransferModel
import TransferSystem

/// Writes events as lines to a descriptor; events of one call share few writes. May be used from any thread.
package final class Log: Sendable {
    /// The form of the lines.
    package enum Format: Sendable {
        case text, json
    }

    private let sink: LogSink
    private let isJSON: Atomic<Bool>
    /// Raw value of the lowest level that is written.
    private let level: Atomic<Int>
    private let throttle = Locked(LogThrottle(now: .now))

    /// - Parameters:
    ///   - descriptor: remains owned by the caller; 2 for standard error.
    ///   - patience: how long to wait for a reader of the log.
    package init(
        descriptor: Int32 = 2, format: Format = .text, level: LogEvent.Level = .info, patience: Interval = .seconds(1)
    ) {
        sink = LogSink(descriptor, patience: patience)
        isJSON = Atomic(format == .json)
        self.level = Atomic(level.rawValue)
    }

    /// Changes the form and the level of later lines.
    package func change(format: Format, level: LogEvent.Level) {
        isJSON.store(format == .json, ordering: .relaxed)
        self.level.store(level.rawValue, ordering: .relaxed)
    }

    func write(_ events: [LogEvent]) {
        let least = level.load(ordering: .relaxed)
        let wanted = throttled(events.filter { $0.level.rawValue >= least })
        guard !wanted.isEmpty else { return }
        let time = Timestamp.now.text(.milliseconds)
        sink.write(lines(wanted, time), count: wanted.count) { lines([.linesDropped($0)], time) }
    }

    /// Logs how many lines were left out by the throttle. To be called at the end.
    func finish() {
        if let count = throttle.withLock({ $0.takeLeftOut(now: nil) }) { write([.linesSuppressed(count)]) }
    }

    private func throttled(_ events: [LogEvent]) -> [LogEvent] {
        guard !events.isEmpty else { return [] }
        return throttle.withLock { throttle in
            let now = MonotonicTime.now
            var wanted = events.filter { !$0.isClientsFault || throttle.admits(now: now) }
            if let count = throttle.takeLeftOut(now: now) { wanted.append(.linesSuppressed(count)) }
            return wanted
        }
    }

    private func lines(_ events: [LogEvent], _ time: String) -> String {
        let isJSON = isJSON.load(ordering: .relaxed)
        var lines = LogText(capacity: 192 * events.count)
        for event in events {
            if isJSON {
                lines.append(json(event, time))
            } else {
                for piece in [time, " ", event.level.name, " ", event.text()] { lines.append(piece) }
            }
            lines.append("\n")
        }
        return lines.string
    }

    private func json(_ event: LogEvent, _ time: String) -> String {
        var line = JSONLine()
        line.append("time", .string(time))
        line.append("level", .string(event.level.name))
        line.append("event", .string(event.name))
        for (key, value) in event.fields() { line.append(key, value.json) }
        return line.text
    }
}

/// A text made of many pieces. A server makes one for each upload; appending to an array of bytes takes fewer instructions than appending
/// to a `String`.
struct LogText {
    private var bytes: [UInt8] = []

    init(capacity: Int) { bytes.reserveCapacity(capacity) }

    var string: String { String(decoding: bytes, as: UTF8.self) }

    mutating func append(_ piece: String) {
        var piece = piece
        piece.withUTF8 { bytes.append(contentsOf: $0) }
    }

    mutating func append(_ number: UInt64) { append(number, digits: 1) }

    /// Appends the number as `Double.shown(decimals:)` shows it.
    mutating func append(_ number: Double, decimals: Int) {
        let scale = UInt64((0..<decimals).reduce(1.0) { product, _ in product * 10 })
        // Others are rare: numbers of bytes and seconds are neither negative nor that large.
        guard number >= 0, number < 1e12 else { return append(number.shown(decimals: decimals)) }
        let (whole, fraction) = UInt64((number * Double(scale)).rounded()).quotientAndRemainder(dividingBy: scale)
        append(whole)
        append(".")
        append(fraction, digits: decimals)
    }

    /// - Parameter digits: least number of digits; shorter numbers get leading zeros.
    private mutating func append(_ number: UInt64, digits: Int) {
        let text = String(number)
        for _ in stride(from: text.utf8.count, to: digits, by: 1) { bytes.append(UInt8(ascii: "0")) }
        append(text)
    }
}
