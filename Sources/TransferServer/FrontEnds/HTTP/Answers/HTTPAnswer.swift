import TransferCatalog
import TransferHTTP
import TransferIO
import TransferIntake
import TransferModel
import TransferStore

/// An answer that is made piece by piece, because it is long. Belongs to one task at a time.
protocol HTTPAnswer {
    /// As the log calls what it is about.
    var path: String { get }

    /// The file, should it turn out to be rotten.
    var suspect: RottenFile? { get }

    /// Whether only the end of the connection says where it ends.
    var endsConnection: Bool { get }

    /// Whether the head can be said before the rest is known.
    var headComesFirst: Bool { get }

    /// Whether it asks itself if the client may still have it.
    var watchesAccess: Bool { get }

    /// - Parameter isLast: whether the connection is closed behind it.
    func head(isLast: Bool) -> [UInt8]

    /// Adds as much as there is room for.
    ///
    /// - Returns: whether that was the end.
    /// - Throws: why it cannot be completed.
    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool

    /// Whether it goes on until one of both sides ends it, so that nothing comes behind it.
    var isEndless: Bool { get }

    /// What the client gets in its place, when it is made; nothing where it is itself what the client gets.
    var successor: (any HTTPAnswer)? { get }

    /// What there is to say of it in the log, when all is made.
    func events(peer: String) -> [LogEvent]
}

extension HTTPAnswer {
    var endsConnection: Bool { false }
    var headComesFirst: Bool { true }
    var watchesAccess: Bool { false }
    var suspect: RottenFile? { nil }
    var isEndless: Bool { false }
    var successor: (any HTTPAnswer)? { nil }
}

/// A short answer.
struct HTTPReply {
    var status: Int
    var fields: [(String, String)]
    var body: [UInt8]
    /// Nothing for one without a body.
    var type: String?

    init(_ status: Int, _ fields: [(String, String)] = [], _ body: [UInt8] = [], type: String? = nil) {
        (self.status, self.fields, self.body, self.type) = (status, fields, body, type)
    }

    /// - Parameter isLast: whether the connection is closed behind it.
    func bytes(for method: HTTPMethod, isLast: Bool) -> [UInt8] {
        guard body.isEmpty, type == nil else {
            return HTTPAnswers.whole(
                status, fields, body, type: type ?? "text/plain; charset=utf-8", for: method, isLast: isLast)
        }
        return HTTPAnswers.head(status, fields, length: [204, 304].contains(status) ? nil : 0, isLast: isLast)
    }
}
