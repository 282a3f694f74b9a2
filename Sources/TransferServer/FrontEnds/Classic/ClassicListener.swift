package import TransferAccess
package import TransferClassic
package import TransferIO

/// Where clients of one classic framing come in, and what they may do there: they can show nothing, so all who reach it are
/// one client with its own folder, quota and files.
package struct ClassicListener: Sendable {
    package let framing: ClassicFraming

    package let endpoint: Endpoint

    package let options: AccessOptions

    /// Names in the lists of keys and tokens under which clients may come that cannot show any: for framings with names.
    package let people: [String]

    package init(
        _ framing: ClassicFraming, on endpoint: Endpoint, _ options: AccessOptions, people: [String] = []
    ) {
        (self.framing, self.endpoint, self.options, self.people) = (framing, endpoint, options, people)
    }

    /// What its clients are called in logs and receipts, and whom their files belong to, also under a later server.
    package var name: String { "\(framing.name) \(endpoint)" }

    /// What a supervisor calls it.
    package var mark: Int32 { ListenerUse.mark(of: name) }

    var grant: Grant { Grant(.listener(name), name: name, options: options) }
}
