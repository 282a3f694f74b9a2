/// What has a path in a store, without a look at its content.
package struct FoundObject: Equatable, Sendable {
    package enum Form: Sendable {
        case file, folder, link
    }

    package let form: Form

    /// Of a folder or link only the object says something.
    package let version: ContentVersion

    package init(_ form: Form, _ version: ContentVersion) {
        (self.form, self.version) = (form, version)
    }
}
