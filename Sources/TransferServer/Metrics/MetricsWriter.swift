import TransferSystem

/// Writes metrics in the formats that Prometheus reads: its own text format 0.0.4, or OpenMetrics 1.0. Does no I/O.
///
/// A family is begun, then its samples follow. Names are the program's own; values of labels are escaped.
struct MetricsWriter {
    enum Format: CaseIterable, Sendable {
        case prometheus, openMetrics

        /// The media type, as in `Accept` and `Content-Type`.
        var contentType: String {
            switch self {
            case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }
    }

    enum Kind: String, Sendable {
        case counter, gauge, histogram
        /// Facts in labels; in the older format a gauge with the value 1.
        case info
    }

    typealias Labels = [(name: String, value: String)]

    private let format: Format
    private var family = (name: "", kind: Kind.gauge)
    private var text = ""

    init(_ format: Format) {
        self.format = format
    }

    /// - Parameters:
    ///   - name: without the suffix of the kind.
    ///   - unit: the unit at the end of the name; nil if it has none.
    mutating func begin(_ name: String, _ kind: Kind, unit: String? = nil, help: String) {
        family = (name, kind)
        let isOpen = format == .openMetrics
        let shown = isOpen ? name : name + suffix
        text += "# HELP \(shown) \(escaped(help, quotes: isOpen))\n"
        text += "# TYPE \(shown) \(isOpen || kind != .info ? kind.rawValue : Kind.gauge.rawValue)\n"
        if isOpen, let unit { text += "# UNIT \(shown) \(unit)\n" }
    }

    mutating func sample(_ labels: Labels = [], _ value: UInt64) { line(suffix, labels, "\(value)") }

    mutating func sample(_ labels: Labels = [], _ value: Double) { line(suffix, labels, Self.text(of: value)) }

    mutating func sample(_ labels: Labels = [], _ reading: DurationHistogram.Reading) {
        for (bound, count) in reading.buckets {
            line("_bucket", labels + [("le", Self.text(of: bound))], "\(count)")
        }
        line("_bucket", labels + [("le", "+Inf")], "\(reading.count)")
        line("_sum", labels, Self.text(of: reading.sum))
        line("_count", labels, "\(reading.count)")
    }

    /// - Returns: the whole page; nothing may be written afterwards.
    mutating func finish() -> [UInt8] {
        if format == .openMetrics { text += "# EOF\n" }
        return Array(text.utf8)
    }

    private var suffix: String {
        switch family.kind {
        case .counter: "_total"
        case .info: "_info"
        case .gauge, .histogram: ""
        }
    }

    private mutating func line(_ suffix: String, _ labels: Labels, _ value: String) {
        text += family.name + suffix
        if !labels.isEmpty {
            let pairs = labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }
            text += "{\(pairs.joined(separator: ","))}"
        }
        text += " \(value)\n"
    }

    private func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// The number as Go parses it, for both formats.
    private static func text(of value: Double) -> String {
        if value.isNaN { return "NaN" }
        guard value.isFinite else { return value < 0 ? "-Inf" : "+Inf" }
        return "\(value)"
    }
}
