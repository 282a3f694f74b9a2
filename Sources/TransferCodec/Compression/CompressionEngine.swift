/// The library that deflates and inflates. They read and write the same streams (RFC 1950), so either side of a transfer
/// may use any.
package enum CompressionEngine: CaseIterable, Sendable {
    /// The reference, always there.
    case zlib
    /// ISA-L, where it is installed: docs/PERFORMANCE.md says how much faster.
    case isal

    /// The fastest that is there.
    package static var automatic: CompressionEngine { isal.isAvailable ? .isal : .zlib }

    /// All that are there.
    package static var available: [CompressionEngine] { allCases.filter(\.isAvailable) }

    /// Whether it is there; for `isal`, the first call in the process looks.
    package var isAvailable: Bool {
        switch self {
        case .zlib: true
        case .isal: ISALibrary.installed != nil
        }
    }
}
