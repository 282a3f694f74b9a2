internal import TransferAccess
private import TransferIO
private import TransferProtocol

/// The address under which clients reach a server, as far as its operator says.
struct AdvertisedAddress: Sendable {
    /// A name or an address, without brackets.
    let host: String

    /// Nothing where none was said.
    let port: UInt16?

    /// - Returns: nothing without the flag `--advertise`.
    /// - Throws: `UsageError` for what no link can have.
    init?(_ arguments: ParsedArguments) throws(UsageError) {
        guard let text = arguments.string("advertise") else { return nil }
        guard case .internet(let host, let port)? = Endpoint(text, defaultPort: 0),
            TransferLink(host: host, port: TransferLink.defaultPort) != nil
        else { throw arguments.error("'\(text.escapedForDisplay)' is no address that clients could use") }
        self.host = host
        self.port = port == 0 ? nil : port
    }
}
