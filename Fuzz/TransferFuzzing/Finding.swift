/// Something that must never be so, and is.
package struct Finding: Error, Equatable, CustomStringConvertible {
    /// A sentence for people.
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// - Throws: a finding unless the condition holds.
func require(_ condition: Bool, _ otherwise: @autoclosure () -> String) throws(Finding) {
    guard condition else { throw Finding(otherwise()) }
}
