internal import TransferClient
private import TransferKeys
private import TransferSealing
private import TransferSystem

/// This user's key for sealed uploads, and what is known of the keys of others.
enum SealingAccess {
    /// Completes a configuration that has this user's key; the key for sealed uploads is made where there is none.
    ///
    /// A place where none can be made is no reason not to go on: only what is sealed needs it.
    ///
    /// - Throws: `TransferFailure` when there is one that cannot be used.
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
