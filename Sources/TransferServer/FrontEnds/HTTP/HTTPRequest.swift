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
    }

    let head: RequestHead
    let body: BodyFraming
    let way: HTTPWay
    let client: Result<Client, Refusal>

    /// Whether the connection may be used for another one.
    var isPersistent: Bool { head.isPersistent }
}
