import TransferModel
import TransferProtocol

/// One request on its way, and who takes its answer.
final class PendingRequest: Sendable {
    /// Its id is chosen when it is sent.
    let request: Request
    let answer: any AnswerTaker

    init(_ request: Request, _ answer: any AnswerTaker) {
        (self.request, self.answer) = (request, answer)
    }
}

/// What a taker thinks of what it was given.
enum Taken {
    case wanted
    /// The rest of the answer is of no use.
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
    /// The same for zeros that the server has in a hole; who makes no difference takes them as any bytes.
    func takeHole(_ zeros: UnsafeRawBufferPointer) -> Taken
    func check(_ block: BlockDigest) -> Taken
    /// All of the content is there.
    func end(_ end: End)
    /// The server has no more to say.
    func end(_ outcome: Outcome)
    /// The connection was lost before the answer's end.
    func lost()
}

extension AnswerTaker {
    private var senseless: Taken { .fault(ProtocolFault(.unexpectedFrame, "The server answers something else.")) }

    func take(_ entries: [ListedEntry]) -> Taken { senseless }
    func take(_ persons: [ListedPerson]) -> Taken { senseless }
    func take(_ deliveries: [ListedDelivery]) -> Taken { senseless }
    func begin(_ file: FetchedFile) -> Taken { senseless }
    func take(_ bytes: UnsafeRawBufferPointer) -> Taken { senseless }
    func takeHole(_ zeros: UnsafeRawBufferPointer) -> Taken { take(zeros) }
    func check(_ block: BlockDigest) -> Taken { senseless }
    func end(_ end: End) {}
}

/// What one connection is to ask. `next` and `settle` are called on the pool, each by one at a time.
protocol RequestSource: AnyObject, Sendable {
    /// What the server has to be able to do.
    var needs: Features { get }

    /// The server has let this client in. Called on a loop.
    ///
    /// - Parameter server: what the connection has proved of it; what `welcome` says of keys is a claim.
    func welcomed(_ welcome: Welcome, by server: ProvenServer)

    /// There are deliveries up to this number, or some have changed. Called on a loop.
    func arrived(_ number: UInt64)

    /// Uploads that the server is asked about by their ids next. Nil where there are none.
    var lookup: Lookup? { get }

    /// The server has an upload that it was asked about. Called on a loop.
    func known(_ result: UploadResult)

    /// The server does not have these uploads. Called on a loop.
    func unknown(_ ids: [UploadID])

    /// - Parameters:
    ///   - count: how many may be asked at once.
    ///   - bytes: what they may count for together.
    /// - Returns: none when there is nothing to ask now.
    func next(_ count: Int, _ bytes: Int) -> [PendingRequest]

    /// Some answers were taken.
    func settle()

    /// Whether there will be nothing to ask any more once all that was asked is answered, on this connection and others.
    var isOver: Bool { get }

    /// Whether more answers are wanted now: those who take them may be behind.
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
