import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol

/// What happened, whether it was tried again, and what to do.
extension TransferFailure {
    /// - Parameters:
    ///   - nameAdvice: what to do where it was the name that led nowhere, before what is said to everybody; nothing where it
    ///     was not.
    ///   - seconds: for which it was tried, after a connection again; nothing when it was tried once.
    ///   - rest: what is not lost; nothing before anything was connected.
    static func unreachable(
        _ endpoint: Endpoint, _ reason: String, nameAdvice: String?, triedFor seconds: Double?,
        leaving rest: String? = "what is acknowledged"
    ) -> TransferFailure {
        let tries = seconds.map { retries($0, isAgain: rest != nil) } ?? "It was tried once"
        let left = rest.map { "; the same command goes on from \($0)." } ?? ", and nothing was sent."
        let advice =
            nameAdvice.map { "\($0)Look whether the name is spelt right, and whether this machine is in a network." }
            ?? "Look whether 'transfer serve' runs there, and on that port."
        return TransferFailure(
            reason: .unreachable, message: "Cannot reach \(endpoint): \(sentence(reason)) \(tries)\(left) \(advice)",
            remedy: rest.map { _ in .goingOn }, cause: "cannot reach \(endpoint): \(reason)")
    }

    /// - Parameter seconds: for which it was tried again; nothing where that would change nothing.
    static func refused(_ result: UploadResult, triedFor seconds: Double? = nil) -> TransferFailure {
        let isAccess = result.code.class == .access || result.code == .busy
        let tries = seconds.map { retries($0) } ?? retries(0)
        let advice = result.code == .unsupportedVersion ? " Whichever side is older has to be updated." : ""
        return TransferFailure(
            reason: isAccess ? .refused : .protocolFault,
            message: "The server refused: \(result.message) (\(result.code)). \(tries).\(advice)")
    }

    /// Nobody knows the server.
    static func unknown(_ server: UnknownServer) -> TransferFailure {
        let doubt =
            server.speaksTransfer ? "" : " It doesn't say that it speaks Transfer: look whether the port is right."
        return TransferFailure(
            reason: .untrusted,
            message: """
                The server \(server.address) is not known here.\(doubt) It shows the key \(server.fingerprint); nothing was sent. \
                If that is what the server's log says, say --server-key \(server.fingerprint), or once --trust-new.
                """,
            remedy: server.speaksTransfer
                ? Remedy(purpose: "to trust it", flags: ["--server-key", "\(server.fingerprint)"]) : nil)
    }

    static func broken(_ endpoint: Endpoint, _ fault: ProtocolFault) -> TransferFailure {
        if let service = ForeignService(opening: fault.opening) {
            return TransferFailure(reason: .unsupported, message: service.sentence(endpoint))
        }
        let message =
            fault.code == .unsupportedVersion
            ? "What answers at \(endpoint) is no server of this version: \(sentence(fault.message)) It was not tried again. "
                + "Look whether the port is right; if it is, whichever side is older has to be updated."
            : "The server broke the protocol: \(sentence(fault.message)) It was not tried again."
        return TransferFailure(reason: .protocolFault, message: message)
    }

    private static func sentence(_ text: String) -> String { text.utf8.last == UInt8(ascii: ".") ? text : text + "." }

    private static func retries(_ seconds: Double, isAgain: Bool = true) -> String {
        let whole = Int(min(max(0, seconds.rounded()), 1e9))
        guard whole > 0 else { return "It was not tried again" }
        return "It was tried \(isAgain ? "again " : "")for \(whole == 1 ? "1 second" : "\(whole) seconds")"
    }
}

extension ForeignService {
    /// For whoever has expected a server of ours there.
    func sentence(_ endpoint: Endpoint) -> String {
        "What listens at \(endpoint) is \(name), not a Transfer server. Nothing was sent. Look whether the port is right."
    }
}
