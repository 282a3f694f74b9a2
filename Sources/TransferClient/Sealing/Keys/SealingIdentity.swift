package import TransferKeys
package import TransferSealing
import TransferSystem

/// All that a client needs to seal for others, and to open what was sealed for it.
package struct SealingIdentity: Sendable {
    /// The client's identity, which it signs with.
    package let key: KeyPair

    /// The key that others seal for.
    package let sealing: SealingKey

    /// The keys of others that this client has seen.
    package let people: KnownPeople

    /// The folder that keeps the secrets of sealed files that are being sent.
    var states: StateFolder { StateFolder(path: "\(OwnFile.folder(of: people.path))/sealing") }

    package init(key: KeyPair, sealing: SealingKey, people: KnownPeople) {
        (self.key, self.sealing, self.people) = (key, sealing, people)
    }
}
