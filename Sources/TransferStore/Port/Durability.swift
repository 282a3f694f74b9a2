/// What an acknowledgement promises about a crash of the machine.
package enum Durability: CaseIterable, Sendable {
    /// The upload is on disk, with its name, when it is acknowledged.
    case commit
    /// Nothing: the kernel writes it when it likes. After a crash a name may stand for less than its content.
    case none
}
