internal import TransferClient
private import TransferKeys
private import TransferSealing
private import TransferSystem

/// Loads this user's sealing key and the list of known people.
enum SealingAccess {
    /// Adds the sealing key to a configuration that has this user's key. If there is no sealing key, generates one.
    ///
    /// If no key can be generated, the command continues, because only sealed content needs the key.
    ///
    /// - Throws: `TransferFailure` if a sealing key exists but cannot be used.
    static func complete(_ configuration: inout ClientConfiguration) throws(TransferFailure) {
        guard let key = configuration.key, let path, let people = KnownPeople.standard else { return }
        do throws(KeyPair.Fault) {
            let found = try SealingKey.find(path)
            guard let sealing = found ?? (try? SealingKey.open(path).key) else { return }
            configuration.sealing = SealingIdentity(key: key, sealing: sealing, people: people)
        } catch {
            throw TransferFailure(reason: .untrusted, message: error.message)
        }
    }

    private static var path: String? { ConfigurationFolder.path.map { "\($0)/\(SealingKey.fileName)" } }
}
