internal import TransferAccess
internal import TransferClient
private import TransferIO
internal import TransferKeys
private import TransferModel

/// The server that `--to` or `--from` gives: an address, a remote, a name to discover, or a link.
struct PushTarget {
    let server: ServerAddress

    /// The pairing code of a link; nil without one.
    var code: AccessSecret?

    /// The server's key from a link; nil without one.
    var key: KeyFingerprint?

    /// What discovery says about the server's encryption; nil if the server was not discovered.
    var found: FoundIdentity?

    /// A sentence that is printed if the host cannot be reached, because the user may have meant a remote.
    private(set) var nameAdvice = ""

    /// - Throws: `UsageError`, which never contains a link, because a link can contain a code.
    init(_ server: FlagKey<String, Never>, _ arguments: ParsedArguments) throws(UsageError) {
        try self.init(arguments[server], of: arguments.source(of: server.flag), arguments)
    }

    /// - Parameter source: the name of the flag or variable that has the text, for messages.
    init(_ text: String, of source: String, _ arguments: ParsedArguments) throws(UsageError) {
        guard !text.hasPrefix(TransferLink.scheme) else {
            self = try Self.linked(text, source, arguments)
            return
        }
        guard !ArgumentSecrets.isSecret(in: text) else {
            throw arguments.error(
                "\(source) contains a pairing code, but is not a link; give all of the link, from "
                    + "\(TransferLink.scheme) on, in single quotes")
        }
        let text = ServerPlace.canonical(text)
        if let wanted = DiscoveredAddress(text) {
            let (server, identity) = try wanted.find(arguments)
            (self.server, found) = (server, identity)
            return
        }
        if let server = try ServerAddress(remote: text, arguments) {
            self.server = server
            return
        }
        guard let server = ServerAddress(text) else {
            // The message must not contain the text, which can contain a password.
            guard !ServerAddress.isURL(text) else {
                throw arguments.error(
                    "\(source) is not a URL to push to; give "
                        + "https://[USER:PASSWORD@]HOST[:PORT]/FOLDER/, without ? and #")
            }
            // The text after `#` is left out, because it could be a part of a code.
            let address = String(text.prefix { $0 != "#" })
            let advice = Endpoint.portFault(in: address) ?? "give HOST[:PORT][/FOLDER] or a remote"
            throw arguments.error("'\(address.escapedForDisplay)' is not a server; \(advice)")
        }
        self.server = server
        guard let name = RemoteReference(text)?.name else { return }
        nameAdvice =
            "There is no remote '\(name)' either: 'transfer remote list' lists the remotes, and "
            + "'transfer remote add \(name) HOST' adds it. "
    }

    private init(server: ServerAddress, code: AccessSecret?, key: KeyFingerprint?) {
        (self.server, self.code, self.key) = (server, code, key)
    }

    private static func linked(
        _ text: String, _ source: String, _ arguments: ParsedArguments
    ) throws(UsageError) -> PushTarget {
        do throws(TransferLink.Fault) {
            let link = try TransferLink(text)
            let folder = link.folder?.string ?? ""
            let server = ServerAddress(.internet(host: link.host, port: link.port), folder: folder)
            return PushTarget(server: server, code: link.code, key: link.fingerprint)
        } catch {
            throw arguments.error("the link of \(source) \(error)")
        }
    }
}
