import TransferModel
import TransferProtocol

/// One request, and the object that takes its answer.
final class PendingRequest: Sendable {
    /// The request without its ID, which is chosen when it is sent.
    let request: Request
    let answer: any AnswerTaker

    init(_ request: Request, _ answer: any AnswerTaker) {
        (self.request, self.answer) = (request, answer)
    }
}

/// What a taker says of a piece of an answer.
enum Taken {
    case wanted
    /// The taker needs no more of the answer.
    case unwanted
    /// The server broke the protocol.
    case fault(ProtocolFault)
}

/// Takes the answer to one request, on the pool, one piece after the other.
protocol AnswerTaker: AnyObject, Sendable {
    func take(_ entries: [ListedEntry]) -> Taken
    func take(_ persons: [ListedPerson]) -> Taken
    func take(_ deliveries: [ListedDelivery]) -> Taken
    func begin(_ file: FetchedFile) -> Taken
    func take(_ bytes: UnsafeRawBufferPointer) -> Taken
    /// Takes zeros of a hole in the server's file. By default they are taken like any other bytes.
    func takeHole(_ zeros: UnsafeRawBufferPointer) -> Taken
    func check(_ block: BlockDigest) -> Taken
    /// All of the content has arrived.
    func end(_ end: End)
    /// The answer has ended with this outcome.
    func end(_ outcome: Outcome)
    /// The connection was lost before the answer's end.
    func lost()
}

extension AnswerTaker {
    private var senseless: Taken {
        .fault(ProtocolFault(.unexpectedFrame, "The server's answer does not match the request."))
    }

    func take(_ entries: [ListedEntry]) -> Taken { senseless }
    func take(_ persons: [ListedPerson]) -> Taken { senseless }
    func take(_ deliveries: [ListedDelivery]) -> Taken { senseless }
    func begin(_ file: FetchedFile) -> Taken { senseless }
    func take(_ bytes: UnsafeRawBufferPointer) -> Taken { senseless }
    func takeHole(_ zeros: UnsafeRawBufferPointer) -> Taken { take(zeros) }
    func check(_ block: BlockDigest) -> Taken { senseless }
    func end(_ end: End) {}
}

/// Supplies the requests of one connection. `next` and `settle` are called on the pool, one at a time.
protocol RequestSource: AnyObject, Sendable {
    /// Features that the server has to have.
    var needs: Features { get }

    /// The server has sent its welcome. Called on a loop.
    ///
    /// - Parameter server: what the connection has proved about the server's identity; keys in `welcome` are only
    ///   claims.
    func welcomed(_ welcome: Welcome, by server: ProvenServer)

    /// There are deliveries up to this number, or some have changed. Called on a loop.
    func arrived(_ number: UInt64)

    /// The uploads to look up next, by ID; nil if no upload is left.
    var lookup: Lookup? { get }

    /// The server has an upload that was looked up. Called on a loop.
    func known(_ result: UploadResult)

    /// The server does not have these uploads. Called on a loop.
    func unknown(_ ids: [UploadID])

    /// - Parameters:
    ///   - count: how many requests may be sent now.
    ///   - bytes: the most that the requests may cost together (`Request.cost`).
    /// - Returns: the next requests; empty if there is nothing to ask now.
    func next(_ count: Int, _ bytes: Int) -> [PendingRequest]

    /// Called after the takers have taken some answers.
    func settle()

    /// Whether there will be no more requests once all open ones are answered, on this connection and others.
    var isOver: Bool { get }

    /// Whether more answers are wanted now; false while their consumers are behind.
    ///
    /// - Parameter next: the request whose answer comes next.
    func mayRead(_ next: Request?) -> Bool
}

extension RequestSource {
    var needs: Features { .files }
    func welcomed(_ welcome: Welcome, by server: ProvenServer) {}
    func arrived(_ number: UInt64) {}
    var lookup: Lookup? { nil }
    func known(_ result: UploadResult) {}
    func unknown(_ ids: [UploadID]) {}
}
