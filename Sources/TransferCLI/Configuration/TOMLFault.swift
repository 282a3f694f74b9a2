/// Why a text is not a document that this program reads, and where.
package struct TOMLFault: Error, Equatable, Sendable {
    /// A phrase.
    package let message: String

    /// From 1.
    package let line: Int

    /// In Unicode scalars, from 1.
    package let column: Int
}
