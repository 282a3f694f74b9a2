/// What is kept of files beside their content and their time of modification: permissions as they are, extended attributes,
/// and owners. It takes a server that can (feature `trees`).
package struct KeptAttributes: Equatable, Sendable {
    /// Whether owners are kept, which takes root on the side that stores.
    package var owners: Bool

    package init(owners: Bool) { self.owners = owners }
}
