import TransferAccess
import TransferHTTP
import TransferIntake

/// A request, and who asks. Not a struct, because it goes through many hands.
final class HTTPRequest: Sendable {
    /// Who came with a request, or why nobody did.
    struct Client: Sendable {
        let caller: Caller

        /// Who pays for what the request costs.
        let holder: AccountHolder

        /// The session that he is in, by its id, where his browser has shown that.
        var session: String?
    }

    let head: RequestHead
    let body: BodyFraming
    let way: HTTPWay
    let client: Result<Client, Refusal>

    /// What came of the link that it is about; whoever shows one is nobody yet.
    let signIn: SignInOutcome?

    init(
        head: RequestHead, body: BodyFraming, way: HTTPWay, client: Result<Client, Refusal>,
        signIn: SignInOutcome? = nil
    ) {
        (self.head, self.body, self.way, self.client, self.signIn) = (head, body, way, client, signIn)
    }

    /// Bytes of content in a file up to which it is waited for: a record of TLS. Each byte that comes alone costs a copy of those
    /// before it.
    private static let mostGathered: UInt64 = 16 << 10

    /// How long the content is, where the request is to be looked at together with all of it: a small file that comes in two
    /// pieces costs one change of threads, and not two. Whoever wants an answer before the content has one.
    var gatheredLength: Int? {
        guard case .length(let length) = body, length <= Self.mostGathered, case .success = client,
            head.method == .put, !head.expectsContinue, !head.asksForResumption
        else { return nil }
        return Int(length)
    }

    /// Whether the connection may be used for another one.
    var isPersistent: Bool { head.isPersistent }
}

extension RequestHead {
    /// Whether it wants an upload that can be gone on with, in the place of one in one piece.
    var asksForResumption: Bool {
        [.put, .post, .patch].contains(method) && (fields.has("upload-complete") || fields.has("upload-incomplete"))
    }
}
