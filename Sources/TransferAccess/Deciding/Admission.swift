/// How a client got in.
package struct Admission: Sendable {
    package let grant: Grant

    /// What was added to the list of keys for it just now, by a pairing code.
    package let enrolled: AuthorizedKey?

    init(_ grant: Grant, enrolled: AuthorizedKey? = nil) {
        (self.grant, self.enrolled) = (grant, enrolled)
    }
}
