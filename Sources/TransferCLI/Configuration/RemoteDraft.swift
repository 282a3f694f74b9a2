/// A remote that is to be written.
struct RemoteDraft {
    let name: String

    /// As it is written after `--to`.
    let address: String

    /// Flags of a push, with their values.
    var settings: [(key: String, value: TOMLValue)] = []

    /// The lines of its table.
    var entries: [(key: String, value: TOMLValue)] { [(Remote.addressKey, .string(address))] + settings }
}
