/// Tells what a stored file was from what it is: 16 bytes that change whenever its content may have. Opaque to clients,
/// which compare it and give it back.
package struct FileVersion: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// As directories have it.
    package static let none = FileVersion(high: 0, low: 0)
}
