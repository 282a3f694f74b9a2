internal import TransferAccess
internal import TransferClient
private import TransferHTTP
private import TransferIO
internal import TransferKeys
private import TransferModel
private import TransferSystem

/// Encryption and credentials of a connection, from the flags of a command.
struct PushAccess {
    /// A secret that authenticates the client in addition to the user's key.
    private enum Secret {
        case none
        case given(AccessSecret)
        /// The user types the secret at the terminal.
        case asked(TokenQuestion)
    }

    private let security: ClientConfiguration.Security
    private let secret: Secret
    private let isQuiet: Bool

    /// A sentence about the server to print before connecting; usually nil.
    private let notice: String?

    /// - Throws: `UsageError` for flags that contradict each other, and for secrets that cannot be read.
    init(_ arguments: ParsedArguments, _ target: PushTarget, isQuiet: Bool) throws(UsageError) {
        secret = try Self.secret(arguments, target)
        if target.server.hasPassword {
            guard case .none = secret else {
                throw arguments.error("a password in the URL and a token exclude each other")
            }
        }
        self.isQuiet = isQuiet
        let key = try arguments[SecurityFlags.serverKey] ?? target.key
        guard target.key == nil || target.key == key else {
            throw arguments.error("--server-key differs from the key in the link")
        }
        let isPlain = target.server.web.map { !$0.isSecure } ?? false
        guard !isPlain, !arguments[SecurityFlags.plaintext] else {
            let remedy = isPlain ? "use https://" : "drop --plaintext"
            guard key == nil, !arguments[SecurityFlags.trustsNew] else {
                throw arguments.error("without encryption a server cannot prove its identity; \(remedy)")
            }
            guard case .none = secret else {
                throw arguments.error(
                    "without encryption anyone on the network could use the token; \(remedy), or drop the token")
            }
            (security, notice) = (.plaintext, nil)
            return
        }
        var trust = ServerTrust()
        trust.key = key
        trust.keepsKey = target.key != nil
        switch target.found {
        case .key(let announced)?: trust.announced = announced
        case .withoutEncryption?:
            throw arguments.failure(
                "The server \(target.server.server) says that it has no encryption. Use --plaintext if "
                    + "you trust the network, or give the address of the server that you mean.", .accessRefused)
        case nil: break
        }
        if arguments[SecurityFlags.trustsNew] {
            guard trust.known != nil else {
                throw arguments.error(
                    "--trust-new cannot save the key: "
                        + ConfigurationFolder.absence.escapedForDisplay)
            }
            trust.firstContact = .trust
        }
        security = .tls(trust)
        notice = target.key.flatMap { trust.notice(of: $0, at: target.server.server) }
    }

    private static func secret(_ arguments: ParsedArguments, _ target: PushTarget) throws(UsageError) -> Secret {
        let ways = [target.code != nil, arguments.isSet(SecurityFlags.tokenFile), arguments[SecurityFlags.asksToken]]
            .filter { $0 }
        guard ways.count <= 1 else {
            throw arguments.error("--token-file, --ask-token and a link with a pairing code exclude each other")
        }
        if let code = target.code { return .given(code) }
        if let path = arguments[SecurityFlags.tokenFile] { return .given(try TokenFile.read(path, arguments)) }
        guard !arguments[SecurityFlags.asksToken] else {
            guard let question = TokenQuestion() else {
                throw arguments.error("--ask-token needs a terminal; use --token-file or TRANSFER_TOKEN")
            }
            return .asked(question)
        }
        guard let text = Environment.value(of: Self.variable) else { return .none }
        guard let secret = AccessSecret(text) else { throw arguments.error("\(Self.variable) is not a token") }
        return .given(secret)
    }

    /// The environment variable for a token.
    static let variable = "TRANSFER_TOKEN"

    /// Completes a configuration: opens or generates the user's key, and asks for the token if necessary.
    ///
    /// - Throws: `TransferFailure` if the key cannot be used, or no token was typed.
    func complete(_ configuration: inout ClientConfiguration) async throws(TransferFailure) {
        configuration.security = security
        configuration.removalKeys = ConfigurationFolder.path
        guard case .tls = security else { return }
        if let notice, !isQuiet { StandardStream.error.write("\(notice)\n") }
        configuration.key = try key()
        configuration.machineName = ClientKey.hostName
        switch secret {
        case .none: break
        case .given(let secret): configuration.token = secret.text
        case .asked(let question): configuration.token = try await question.ask().text
        }
    }

    /// The user's key. If no key can be generated, the push continues without one, because the server may accept a
    /// token, or every client.
    private func key() throws(TransferFailure) -> KeyPair? {
        guard let folder = ConfigurationFolder.path else { return nil }
        let key = ClientKey(in: folder)
        do throws(KeyPair.Fault) {
            if let pair = try key.find() { return pair }
        } catch {
            throw TransferFailure(reason: .untrusted, message: error.message)
        }
        do throws(KeyPair.Fault) {
            return try key.open().pair
        } catch {
            if !isQuiet { StandardStream.error.write("No server will recognise this client: \(error.message)\n") }
            return nil
        }
    }
}

extension ServerTrust {
    /// A sentence for the user if the link's key differs from the known key, which it will replace; nil otherwise.
    fileprivate func notice(of key: KeyFingerprint, at address: String) -> String? {
        guard let before = try? known?.fingerprint(of: address), before != key else { return nil }
        return "The known key of \(address.escapedForDisplay) was \(before); the link has \(key)."
    }
}
