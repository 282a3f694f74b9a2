/// Why a library that could be opened at run time is not used.
package enum LibraryRefusal: Error, Equatable, Sendable {
    /// It is not here, or is of no use on this machine.
    case absent
    /// It is here and does not do as it must; what, to go behind its name.
    case unfit(String)
}
