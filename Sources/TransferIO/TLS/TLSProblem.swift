/// The reason why a certificate proves nothing to a client that doesn't know its key.
package enum TLSProblem: Equatable, Sendable {
    case expired
    case notYetValid
    /// The certificate has other names than the requested one.
    case wrongName
    /// The certificate is self-signed or its issuer is unknown.
    case unknownIssuer
    /// Any other reason, in OpenSSL's words.
    case other(String)
}

/// Decides whether a server can be trusted, from its key and the certificate's problem. `check` may read the system's
/// trusted certificates, so a judge that knows the key does not call it.
package typealias TLSJudge = @Sendable (_ key: TLSKey, _ check: () -> TLSProblem?) -> Bool
