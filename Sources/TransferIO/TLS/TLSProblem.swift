/// The reason why a certificate proves nothing to a client that doesn't know the certificate's key.
package enum TLSProblem: Equatable, Sendable {
    case expired
    case notYetValid
    /// The certificate does not have the requested name.
    case wrongName
    /// The certificate is self-signed or its issuer is unknown.
    case unknownIssuer
    /// Any other reason, in OpenSSL's words.
    case other(String)
}

/// Decides whether a server can be trusted, from its key and the problem that the certificate has. `check` may read the
/// system's trusted certificates, so a judge that knows the key does not call it.
package typealias TLSJudge = @Sendable (_ key: TLSKey, _ check: () -> TLSProblem?) -> Bool
