package import TransferKeys
package import TransferSealing
import TransferSystem

/// All that a client needs to seal for others, and to open what was sealed for it.
package struct SealingIdentity: Sendable {
    /// Who it is: what it signs with.
    package let key: KeyPair

    /// What others seal for.
    package let sealing: SealingKey

    /// The keys that it has seen of others.
    package let people: KnownPeople

    /// The folder for what decides the bytes of sealed files that are on their way.
    var states: StateFolder { StateFolder(path: "\(OwnFile.folder(of: people.path))/sealing") }

    package init(key: KeyPair, sealing: SealingKey, people: KnownPeople) {
        (self.key, self.sealing, self.people) = (key, sealing, people)
    }
}
