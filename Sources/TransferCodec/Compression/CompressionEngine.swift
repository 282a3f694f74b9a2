/// A library that deflates and inflates. All of them read and write the same streams (RFC 1950), so the two sides of a
/// transfer may use different libraries.
package enum CompressionEngine: CaseIterable, Sendable {
    /// The reference, which is always available.
    case zlib
    /// ISA-L, if it is installed. docs/PERFORMANCE.md says how much faster it is.
    case isal

    /// The fastest of the available libraries.
    package static var automatic: CompressionEngine { isal.isAvailable ? .isal : .zlib }

    /// All libraries that are available.
    package static var available: [CompressionEngine] { allCases.filter(\.isAvailable) }

    /// Whether the library is available; for `isal`, the first call in the process opens it.
    package var isAvailable: Bool {
        switch self {
        case .zlib: true
        case .isal: ISALibrary.installed != nil
        }
    }
}
