/// Why a text is not a size or a duration.
package enum QuantityFault: Error, Equatable {
    /// Not a number with a known unit.
    case malformed
    /// A number beyond what is counted here.
    case tooLarge
}
