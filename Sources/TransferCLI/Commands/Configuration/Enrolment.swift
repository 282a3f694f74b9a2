internal import TransferAccess
internal import TransferClient
internal import TransferKeys
private import TransferModel
private import TransferSystem

/// Uses the code in a link, so that the server authorises this user's key, and adds the server to the known servers.
struct Enrolment {
    private let server: ServerAddress
    private let code: AccessSecret
    private let key: KeyFingerprint?

    /// - Parameter key: the server's key; nil if the server is known already, or has a certificate.
    /// - Returns: nil for a target without a code.
    /// - Throws: `UsageError` with `--plaintext`, which would expose the code, and with `--token-file`, which makes it
    ///   useless.
    init?(_ target: PushTarget, _ key: KeyFingerprint?, _ arguments: ParsedArguments) throws(UsageError) {
        guard let code = target.code else { return nil }
        guard !arguments[SecurityFlags.plaintext] else {
            throw arguments.error("without encryption anyone on the network could use the link; drop --plaintext")
        }
        guard arguments[SecurityFlags.tokenFile] == nil else {
            throw arguments.error("--token-file and a link with a pairing code exclude each other")
        }
        (server, self.code, self.key) = (target.server, code, key)
    }

    func run() async -> ExitCode {
        guard let folder = ConfigurationFolder.path else {
            return AccessOutput.fail(
                "There is nowhere to keep a key: \(ConfigurationFolder.absence.escapedForDisplay).")
        }
        var trust = ServerTrust()
        trust.key = key
        trust.keepsKey = key != nil
        var configuration = ClientConfiguration()
        configuration.security = .tls(trust)
        configuration.token = code.text
        configuration.machineName = ClientKey.hostName
        configuration.agent = "transfer/\(transferVersion)"
        do throws(KeyPair.Fault) {
            configuration.key = try ClientKey(in: folder).open().pair
        } catch {
            return AccessOutput.fail(error.message)
        }
        do throws(TransferFailure) {
            _ = try await TransferClient.connect(to: server, configuration: configuration)
            return .success
        } catch {
            StandardStream.error.write("transfer: \(error.message.escapedForDisplay)\n")
            return error.reason.exitCode
        }
    }
}
