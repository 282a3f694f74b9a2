/// What is only faster and opened at run time where it is installed, or looked up when first used.
package enum SharedLibraries {
    /// Opens and looks up all of it now, for a process that will soon be unable to.
    package static func open() {
        _ = XXHash.functions
        _ = CompressionEngine.automatic
        _ = SHA256Method.shared
    }
}
