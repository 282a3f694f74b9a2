internal import TransferAccess
internal import TransferClient
private import TransferIO
internal import TransferKeys
private import TransferModel

/// Where a push goes, as `--to` or `--from` says: an address, a name to look for, or a link that has more to say.
struct PushTarget {
    let server: ServerAddress

    /// The pairing code of a link.
    var code: AccessSecret?

    /// The server's key as a link has it.
    var key: KeyFingerprint?

    /// What the server says of itself, where it was looked for.
    var found: FoundIdentity?

    /// What to say where the name leads nowhere: it may have been meant for a remote's.
    private(set) var nameAdvice = ""

    /// - Throws: `UsageError`, which never has a link in it: that may have a code.
    init(_ server: FlagKey<String, Never>, _ arguments: ParsedArguments) throws(UsageError) {
        try self.init(arguments[server], of: arguments.source(of: server.flag), arguments)
    }

    /// - Parameter source: what to call the place where the text stands.
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
            // Not with the text in it, which may have a password.
            guard !ServerAddress.isURL(text) else {
                throw arguments.error(
                    "\(source) is not a URL to push to; give "
                        + "https://[USER:PASSWORD@]HOST[:PORT]/FOLDER/, without ? and #")
            }
            // Behind a sign that no address has, there may be a part of a code.
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
