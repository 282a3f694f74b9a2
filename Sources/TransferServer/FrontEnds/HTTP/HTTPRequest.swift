import TransferAccess
import TransferHTTP
import TransferIntake

/// A request, and who asks.
struct HTTPRequest: Sendable {
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
    var signIn: SignInOutcome?

    /// Whether the connection may be used for another one.
    var isPersistent: Bool { head.isPersistent }
}
