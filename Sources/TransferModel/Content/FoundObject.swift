/// Type and version of the object under a path in a store.
package struct FoundObject: Equatable, Sendable {
    package enum Form: Sendable {
        case file, folder, link
    }

    package let form: Form

    /// The version. For a folder or link, only its `object` has a meaning.
    package let version: ContentVersion

    package init(_ form: Form, _ version: ContentVersion) {
        (self.form, self.version) = (form, version)
    }
}
