/// Why a certificate proves nothing to those who don't know its key.
package enum TLSProblem: Equatable, Sendable {
    case expired
    case notYetValid
    /// It is for other names than the one that was asked for.
    case wrongName
    /// Nobody vouches for it but itself, or somebody who is not known here.
    case unknownIssuer
    /// OpenSSL's words.
    case other(String)
}

/// Decides whether a server is the right one, from its key and what is wrong with the certificate around it. `check` reads
/// the system's trusted certificates where it has to, so a judge who knows the key asks nothing.
package typealias TLSJudge = @Sendable (_ key: TLSKey, _ check: () -> TLSProblem?) -> Bool
