public import TransferKeys

extension ClientConfiguration {
    private static let wording = KeyPair.Wording(
        name: "The client's key", harm: "push in its name",
        remedy:
            "If nobody has, run 'chmod 600' on it; otherwise remove it, and have it removed from the servers that know it.",
        repair: "Put the file back from a backup, or remove it, and another is made.")

    /// Shows servers the key pair in a file: that is who this client is. The program `transfer` keeps that of its user in
    /// `~/.config/transfer/key.pem`.
    ///
    /// - Parameter path: of the file, PEM and mode 0600; it is made, in a folder that is there, where there is none.
    /// - Returns: the public half, for a server's `authorized_keys`.
    /// - Throws: `TransferFailure` when the file is no key, when others can read it, or when it cannot be made.
    @discardableResult
    public mutating func showKey(in path: String) throws(TransferFailure) -> PublicKey {
        do throws(KeyPair.Fault) {
            let pair = try KeyPair.open(path, Self.wording).pair
            key = pair
            return pair.key
        } catch {
            throw TransferFailure(reason: .untrusted, message: error.message)
        }
    }
}
