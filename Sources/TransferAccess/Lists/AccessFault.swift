/// Why something about access cannot be done or read.
package struct AccessFault: Error, Equatable, Sendable {
    /// A phrase for a line of a file, a sentence otherwise.
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}
