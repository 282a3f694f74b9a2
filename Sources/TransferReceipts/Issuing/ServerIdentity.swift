public import TransferKeys

/// The public key of a server, which identifies it and verifies its receipts.
public typealias ServerKey = PublicKey

/// The key pair with which a server signs.
package typealias ServerIdentity = KeyPair

extension ServerIdentity {
    /// The name of the file in the server's own folder.
    package static let fileName = "identity.pem"

    /// Reads a server's identity, or makes one durably if the file does not exist. A file without a key, or one that
    /// other users can read, is never replaced, because all earlier receipts may depend on it.
    ///
    /// - Parameter folder: path of the server's own folder on this machine.
    /// - Returns: the identity, and whether it is new.
    package static func open(in folder: String) throws(Fault) -> (identity: ServerIdentity, isNew: Bool) {
        try open(at: "\(folder)/\(fileName)", isMounted: false)
    }

    /// Does the same with the file at a path.
    ///
    /// - Parameter isMounted: whether the file may be a secret of a container.
    package static func open(at path: String, isMounted: Bool) throws(Fault) -> (identity: ServerIdentity, isNew: Bool)
    {
        let made = try open(
            path,
            Wording(
                name: "The server's identity", harm: "act in its name",
                remedy: "If no other user has, run 'chmod 600' on it; otherwise remove it, and the server "
                    + "makes a new identity.",
                repair:
                    "Put the file back from a backup, or move it away: then the server makes a new "
                    + "identity, and receipts signed so far can only be verified with the old public key."),
            isMounted: isMounted)
        return (made.pair, made.isNew)
    }
}

// MARK: Whose key it is

extension ServerIdentity {
    /// Proves to a client that this is the server's own key. The proof is valid on this connection only, so that
    /// another server cannot use it.
    ///
    /// - Parameter channelBinding: that of the connection's TLS (RFC 9266).
    package func proof(on channelBinding: [UInt8]) -> [UInt8] { sign(ServerKey.proofMessage(channelBinding)) }
}

extension ServerKey {
    /// Prefix of the signed bytes, unique to this purpose.
    private static let domain = Array("transfer server key v1\n".utf8)

    fileprivate static func proofMessage(_ channelBinding: [UInt8]) -> [UInt8] { domain + channelBinding }

    /// - Parameters:
    ///   - proof: the proof from `ServerIdentity.proof`.
    ///   - channelBinding: that of the connection's TLS, on this side.
    package func isProven(by proof: [UInt8], on channelBinding: [UInt8]) -> Bool {
        verifies(proof, of: Self.proofMessage(channelBinding))
    }
}
