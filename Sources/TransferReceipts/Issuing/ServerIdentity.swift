public import TransferKeys

/// The key that a server signs receipts with and is known by.
public typealias ServerKey = PublicKey

/// The key pair of a server.
package typealias ServerIdentity = KeyPair

extension ServerIdentity {
    /// The name of the file in the server's own folder.
    package static let fileName = "identity.pem"

    /// Reads the identity of a server, or makes it durably where there is none. A file that is no key, or that others
    /// can read, is never replaced: it may be what verifies all receipts that were given so far.
    ///
    /// - Parameter folder: the server's own; a path of this machine.
    /// - Returns: the identity, and whether it was made now.
    package static func open(in folder: String) throws(Fault) -> (identity: ServerIdentity, isNew: Bool) {
        let made = try open(
            "\(folder)/\(fileName)",
            Wording(
                name: "The server's identity", harm: "act in its name",
                remedy: "If nobody has, run 'chmod 600' on it; otherwise remove it, and a new identity is made.",
                repair:
                    "Put the file back from a backup, or move it away: then a new identity is made, and receipts given "
                    + "so far can only be verified with the old public key."))
        return (made.pair, made.isNew)
    }
}

// MARK: Whose key it is

extension ServerIdentity {
    /// Proves to the client of one connection that this is the server's own key. The proof is valid on this connection only, so
    /// another server cannot use it.
    ///
    /// - Parameter channelBinding: of the connection's TLS (RFC 9266).
    package func proof(on channelBinding: [UInt8]) -> [UInt8] { sign(ServerKey.proofMessage(channelBinding)) }
}

extension ServerKey {
    /// In front of what is signed: nobody signs for another purpose what begins so.
    private static let domain = Array("transfer server key v1\n".utf8)

    fileprivate static func proofMessage(_ channelBinding: [UInt8]) -> [UInt8] { domain + channelBinding }

    /// - Parameters:
    ///   - proof: what `ServerIdentity.proof` gives.
    ///   - channelBinding: of the connection's TLS, on this side.
    package func isProven(by proof: [UInt8], on channelBinding: [UInt8]) -> Bool {
        verifies(proof, of: Self.proofMessage(channelBinding))
    }
}
