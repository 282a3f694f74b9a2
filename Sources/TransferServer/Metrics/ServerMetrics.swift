import TransferHTTP
import TransferModel
import TransferSystem

/// The counters of a server. All labels have few values, and none of them comes from a client.
final class ServerMetrics: Sendable {
    /// The protocol of a connection.
    enum Wire: String, CaseIterable, Sendable {
        case transfer, http, classic

        /// - Parameter name: name of a front end.
        init(frontEnd name: String) {
            switch name {
            case "frames": self = .transfer
            case "http": self = .http
            default: self = .classic
            }
        }
    }

    /// Methods that are counted separately.
    static let methods: [HTTPMethod] = [.get, .head, .put, .post, .patch, .delete, .options]

    /// The counters of one protocol.
    struct Traffic: Sendable {
        let received = Counter()
        let sent = Counter()
        let results = ResultCounters()
    }

    let traffic = Dictionary(Wire.allCases.map { ($0, Traffic()) }) { first, _ in first }
    let uploadDurations = DurationHistogram()
    let commitDurations = DurationHistogram()
    let accepted = Counter()
    /// Includes connections that had a place and lost it.
    let refusedConnections = Dictionary(
        ConnectionLimits.Shortage.allCases.map { ($0, Counter()) }
    ) { first, _ in first }
    let refusedAuthentications = ResultCounters()
    /// By method and first digit of the status; the last row is for all other methods.
    private let requests = (0...methods.count).map { _ in (0..<5).map { _ in Counter() } }

    func refused(_ shortage: ConnectionLimits.Shortage) { refusedConnections[shortage]?.add() }

    /// - Parameter answer: the beginning of the answer, from `HTTP/1.1` on.
    func answered(_ method: HTTPMethod, _ answer: [UInt8]) {
        let digit = "HTTP/1.1 ".utf8.count
        guard answer.count > digit, (UInt8(ascii: "1")...UInt8(ascii: "5")).contains(answer[digit]) else { return }
        let row = Self.methods.firstIndex(of: method) ?? Self.methods.count
        requests[row][Int(answer[digit] - UInt8(ascii: "1"))].add()
    }

    /// Counts of answers that are not 0.
    var answers: [(method: String, status: String, count: UInt64)] {
        requests.enumerated().flatMap { row, classes in
            classes.enumerated().compactMap { digit, counter in
                let method = row < Self.methods.count ? Self.methods[row].name : "other"
                return counter.value == 0 ? nil : (method, "\(digit + 1)xx", counter.value)
            }
        }
    }
}

/// Counts each result of uploads or authentications.
struct ResultCounters: Sendable {
    private let counters = Dictionary(
        ResultCode.all.map(\.code).map { ($0, Counter()) }
    ) { first, _ in first }
    private let others = Counter()

    func add(_ code: ResultCode) { (counters[code] ?? others).add() }

    /// Counts that are not 0, and those of the results in `always`.
    func readings(always: [ResultCode] = []) -> [(name: String, count: UInt64)] {
        let known = ResultCode.all.map(\.code).compactMap { code -> (name: String, count: UInt64)? in
            let count = counters[code]?.value ?? 0
            return count > 0 || always.contains(code) ? (code.name, count) : nil
        }
        return others.value == 0 ? known : known + [("other", others.value)]
    }
}
